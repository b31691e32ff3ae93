// A certified OpenID Connect provider that insists on PKCE; node FILE PORT REDIRECT SECRET.
import Provider from "oidc-provider";

const [port, redirect, secret] = process.argv.slice(2);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "tiphys", client_secret: secret, redirect_uris: [redirect] }],
  pkce: { required: () => true },
  // Groups are told at the userinfo endpoint alone, as this provider does by default.
  claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
  scopes: ["openid", "email", "groups"],
  cookies: { keys: ["of the tests"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      email: `${id}@argo.example`,
      email_verified: id !== "unverified",
      groups: ["crew", "argonauts"],
    }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));

/** Who asks, projects, tokens, the audit, templates. */
import { call, part, type Schemas } from "./client";

export type Self = Schemas["Self"];
export type Project = Schemas["ProjectShape"];
export type Token = Schemas["TokenShape"];
export type MadeToken = Schemas["MadeToken"];
export type AuditEntry = Schemas["AuditEntry"];
export type Template = Schemas["Template"];

export const whoami = (token?: string) => call<Self>("/whoami", { token });

/** How people can sign in here. */
export interface LoginMethods {
  token: boolean;
  oidc: { url: string; issuer: string } | null;
}

export const loginMethods = () =>
  call<LoginMethods>("/auth/methods", { root: true, token: "" }).catch((): LoginMethods => ({ token: true, oidc: null }));

/** End the session with the provider; gives where it forgets the browser too. */
export const logOut = () => call<{ logout_url: string | null }>("/auth/logout", { root: true, method: "POST" });

export const listProjects = () => call<Project[]>("/projects");
export const makeProject = (body: object) => call<Project>("/projects", { method: "POST", body });
export const removeProject = (id: string) =>
  call<unknown>(`/projects/${part(id)}`, { method: "DELETE" });

export const listTokens = () => call<Token[]>("/tokens");
export const makeToken = (body: object) => call<MadeToken>("/tokens", { method: "POST", body });
export const removeToken = (id: string) => call<unknown>(`/tokens/${part(id)}`, { method: "DELETE" });

/** List changes before a number, the latest first. */
export const listAudit = (before: number, limit: number) =>
  call<AuditEntry[]>("/audit", { query: { before, limit } });

export const listTemplates = () => call<Template[]>("/templates");
export const listClusterTemplates = () => call<Template[]>("/cluster-templates");
export const removeTemplate = (template: Template) =>
  call<unknown>(
    template.project_id
      ? `/templates/${part(template.project_id)}/${part(template.name)}`
      : `/cluster-templates/${part(template.name)}`,
    { method: "DELETE" },
  );

/** Keep a template; of a project, or for all where that is "". */
export const saveTemplate = (project: string, template_yaml: string) =>
  call<Template>(project ? "/templates" : "/cluster-templates", {
    method: "POST",
    body: project ? { template_yaml, project_id: project } : { template_yaml },
  });

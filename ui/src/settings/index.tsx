/** Settings: how it looks for you; for admins tokens, projects and the audit. */
import { Tabs } from "@mantine/core";

import { Page } from "../parts/Page";
import { useAddress } from "../parts/search";
import { useSelf } from "../shell/Account";
import { AuditTab } from "./AuditTab";
import { LooksTab } from "./LooksTab";
import { ProjectsTab } from "./ProjectsTab";
import { TokensTab } from "./TokensTab";

/** The page. */
export function SettingsPage() {
  const [search, setSearch] = useAddress();
  const { data: self } = useSelf();
  const admin = self?.role === "admin";
  return (
    <Page title="Settings">
      <Tabs value={search["tab"] ?? "looks"} onChange={(tab) => setSearch({ tab: tab === "looks" ? "" : (tab ?? "") })} keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="looks">You</Tabs.Tab>
          <Tabs.Tab value="projects">Projects</Tabs.Tab>
          {admin && <Tabs.Tab value="tokens">Tokens</Tabs.Tab>}
          {admin && <Tabs.Tab value="audit">Audit</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="looks">
          <LooksTab />
        </Tabs.Panel>
        <Tabs.Panel value="projects">
          <ProjectsTab mayChange={admin && self?.project_id === null} />
        </Tabs.Panel>
        {admin && (
          <Tabs.Panel value="tokens">
            <TokensTab self={self} />
          </Tabs.Panel>
        )}
        {admin && (
          <Tabs.Panel value="audit">
            <AuditTab />
          </Tabs.Panel>
        )}
      </Tabs>
    </Page>
  );
}

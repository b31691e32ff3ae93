/** Who is signed in, the zone in which times are shown, and the way out. */
import { ActionIcon, Menu, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { logOut, whoami } from "../api/admin";
import { byCookie, signOut } from "../api/session";
import { Icon } from "../parts/Icon";
import { useTimeZone } from "../parts/Time";
import { BROWSER_ZONE, setTimeZone } from "../parts/time";

/** Give who is signed in. */
export function useSelf() {
  return useQuery({ queryKey: ["whoami"], queryFn: () => whoami(), staleTime: 60_000 });
}

/** The menu. */
export function Account() {
  const { data: self } = useSelf();
  const zone = useTimeZone();
  const zones = [...new Set([BROWSER_ZONE, "UTC", zone])];
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label="Account and time zone">
          <Icon name="user" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {self && (
          <Menu.Label>
            <Text size="sm" fw={600} className="wrap-anywhere" c="var(--mantine-color-text)">
              {self.name}
            </Text>
            {self.role} · {self.project_id ?? "all projects"}
          </Menu.Label>
        )}
        <Menu.Divider />
        <Menu.Label>Times in</Menu.Label>
        {zones.map((each) => (
          <Menu.Item
            key={each}
            onClick={() => setTimeZone(each)}
            leftSection={each === zone ? <Icon name="check" size={14} /> : <span className="no-icon" />}
          >
            {each}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void leave()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Forget the token, or end the session with the provider. */
async function leave(): Promise<void> {
  const elsewhere = byCookie() ? await logOut().catch(() => null) : null;
  signOut();
  if (elsewhere?.logout_url) location.assign(elsewhere.logout_url);
}

/** Who you are here, the theme, and the zone of times. */
import { SegmentedControl, Select, Stack, Table, Text, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";

import { At, useTimeZone } from "../parts/Time";
import { BROWSER_ZONE, setTimeZone } from "../parts/time";
import { useSelf } from "../shell/Account";

const ZONES = [...new Set([BROWSER_ZONE, "UTC", ...Intl.supportedValuesOf("timeZone")])];

/** The tab. */
export function LooksTab() {
  const { data: self } = useSelf();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const zone = useTimeZone();
  return (
    <Stack maw={520}>
      {self && (
        <Table withTableBorder aria-label="You">
          <Table.Tbody>
            <Table.Tr>
              <Table.Th>Name</Table.Th>
              <Table.Td className="wrap-anywhere">{self.name}</Table.Td>
            </Table.Tr>
            <Table.Tr>
              <Table.Th>Role</Table.Th>
              <Table.Td>{self.role}</Table.Td>
            </Table.Tr>
            <Table.Tr>
              <Table.Th>Project</Table.Th>
              <Table.Td>{self.project_id ?? "all"}</Table.Td>
            </Table.Tr>
            <Table.Tr>
              <Table.Th>Token holds until</Table.Th>
              <Table.Td>{self.expires_at ? <At at={self.expires_at} /> : "it is removed"}</Table.Td>
            </Table.Tr>
          </Table.Tbody>
        </Table>
      )}
      <div>
        <Text size="sm" fw={600} mb={4}>
          Theme
        </Text>
        <SegmentedControl
          aria-label="Theme"
          value={colorScheme}
          onChange={(value) => setColorScheme(value as MantineColorScheme)}
          data={[
            { value: "light", label: "Light" },
            { value: "dark", label: "Dark" },
            { value: "auto", label: "System" },
          ]}
        />
      </div>
      <Select label="Times in" searchable data={ZONES} value={zone} onChange={(value) => value && setTimeZone(value)} allowDeselect={false} limit={100} />
    </Stack>
  );
}

/** Light, dark, or as the system has it: one button that goes round. */
import { ActionIcon, Tooltip, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";

import { Icon, type IconName } from "../parts/Icon";

const NEXT: Record<MantineColorScheme, MantineColorScheme> = {
  light: "dark",
  dark: "auto",
  auto: "light",
};
const NAMES: Record<MantineColorScheme, string> = { light: "light", dark: "dark", auto: "system" };
const ICONS: Record<MantineColorScheme, IconName> = { light: "sun", dark: "moon", auto: "system" };

/** The button. */
export function SchemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const label = `Theme: ${NAMES[colorScheme]}`;
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`${label}; change to ${NAMES[NEXT[colorScheme]]}`}
        onClick={() => setColorScheme(NEXT[colorScheme])}
      >
        <Icon name={ICONS[colorScheme]} />
      </ActionIcon>
    </Tooltip>
  );
}

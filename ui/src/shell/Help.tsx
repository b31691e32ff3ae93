/** What the keys do. */
import { Group, Modal, Stack, Text } from "@mantine/core";

import { PLACES } from "./places";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "Search on this page"],
  ["⌘ K, Ctrl K", "Go anywhere, do anything"],
  ["?", "This help"],
  ["j, k", "Next and previous row"],
  ["Enter, o", "Open the row"],
  ["x", "Mark the row"],
  ["Esc", "Close, or leave a field"],
];

/** The list. */
export function Help({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const places = PLACES.map((place) => [`g ${place.key}`, place.label] as const);
  return (
    <Modal opened={opened} onClose={onClose} title="Keys" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack gap={6}>
        {[...KEYS, ...places].map(([key, text]) => (
          <Group key={key} justify="space-between" wrap="nowrap">
            <Text size="sm">{text}</Text>
            <kbd className="key">{key}</kbd>
          </Group>
        ))}
      </Stack>
    </Modal>
  );
}

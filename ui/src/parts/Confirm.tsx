/** A question before something that cannot be undone. */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";

interface ConfirmProps {
  title: string;
  /** What the button that goes on says. */
  action: string;
  danger?: boolean;
  children?: ReactNode;
  onConfirm: () => Promise<unknown> | void;
  onClose: () => void;
}

/** Ask; closes itself when the answer has been acted on. */
export function Confirm({ title, action, danger, children, onConfirm, onClose }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  async function go(): Promise<void> {
    setBusy(true);
    try {
      await onConfirm();
    } finally {
      setBusy(false);
      onClose();
    }
  }
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Text size="sm" component="div">
          {children}
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button color={danger ? "red.9" : undefined} loading={busy} onClick={() => void go()} autoFocus data-autofocus>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** An artifact: its name, a safe look at what is in it, and the way to save it. */
import { ActionIcon, Alert, Button, Code, Group, Loader, Modal, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { part } from "../api/client";
import { Icon } from "../parts/Icon";
import { Problem } from "../parts/Problem";
import { bytes as bytesText } from "../parts/time";
import { readStart, saveFrom } from "./download";
import { lookAt, previewOf, type Entry, type Preview } from "./preview";

const LIMIT = 4 * 1024 * 1024;
const SHOWN = 200_000;

interface ArtifactProps {
  workflow: string;
  node: string;
  name: string;
}

/** One row of a list of artifacts. */
export function Artifact({ workflow, node, name }: ArtifactProps) {
  const [open, setOpen] = useState(false);
  const path = `/workflows/${part(workflow)}/nodes/${part(node)}/artifacts/${part(name)}`;
  return (
    <Group gap={6} wrap="nowrap">
      <Icon name="file" size={16} />
      <Text size="sm" className="wrap-anywhere" flex={1}>
        {name}
      </Text>
      <Button size="compact-xs" variant="default" onClick={() => setOpen(true)} aria-label={`Look at ${name}`}>
        Look
      </Button>
      <ActionIcon variant="default" size="sm" aria-label={`Download ${name}`} onClick={() => void saveFrom(path, name)}>
        <Icon name="download" size={14} />
      </ActionIcon>
      {open && (
        <Modal opened onClose={() => setOpen(false)} title={name} size="xl" closeButtonProps={{ "aria-label": "Close" }}>
          <Look path={path} />
        </Modal>
      )}
    </Group>
  );
}

function Look({ path }: { path: string }) {
  const { data, error, isPending } = useQuery({
    queryKey: ["artifact", path],
    queryFn: async () => {
      const { bytes, cut } = await readStart(path, LIMIT);
      return { preview: await previewOf(bytes), cut };
    },
    gcTime: 0,
  });
  if (isPending) return <Loader size="sm" />;
  if (error) return <Problem error={error} title="The artifact cannot be read" />;
  return (
    <Stack>
      {data.cut && <Alert color="yellow">Only the first {bytesText(LIMIT)} are looked at; the download has all.</Alert>}
      <Shown preview={data.preview} />
    </Stack>
  );
}

function Shown({ preview }: { preview: Preview }) {
  if (preview.kind === "image") return <Picture media={preview.media} bytes={preview.bytes} />;
  if (preview.kind === "archive") return <Archive entries={preview.entries} />;
  if (preview.kind === "unknown") return <Text size="sm">Neither text nor a picture: save it to open it.</Text>;
  return (
    <Code block className="preview" tabIndex={0}>
      {preview.text.slice(0, SHOWN) || "(empty)"}
    </Code>
  );
}

function Picture({ media, bytes }: { media: string; bytes: Uint8Array<ArrayBuffer> }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type: media }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, media]);
  return url ? <img className="picture" src={url} alt="The artifact" /> : null;
}

function Archive({ entries }: { entries: Entry[] }) {
  const [chosen, setChosen] = useState(0);
  const entry = entries[chosen];
  return (
    <Stack gap="xs">
      {entries.length > 1 && (
        <Group gap={4}>
          {entries.map((each, index) => (
            <Button key={index} size="compact-xs" variant={index === chosen ? "filled" : "default"} onClick={() => setChosen(index)}>
              {each.name} · {bytesText(each.size)}
            </Button>
          ))}
        </Group>
      )}
      {entry && <Shown preview={lookAt(entry.bytes)} />}
    </Stack>
  );
}

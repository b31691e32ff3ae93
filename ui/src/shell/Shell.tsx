/** The frame around every page: navigation, search, theme, help. */
import {
  ActionIcon,
  AppShell,
  Burger,
  Group,
  NavLink,
  ScrollArea,
  Text,
  Tooltip,
  UnstyledButton,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";

import { Icon } from "../parts/Icon";
import { Account } from "./Account";
import { Help } from "./Help";
import { useKeys, type Keys } from "./keys";
import { Palette } from "./Palette";
import { PLACES } from "./places";
import { SchemeButton } from "./SchemeButton";

/** The frame. */
export function Shell() {
  const [open, menu] = useDisclosure(false);
  const [palette, paletteIs] = useDisclosure(false);
  const [help, helpIs] = useDisclosure(false);
  const { pathname } = useLocation();
  useEffect(() => menu.close(), [pathname]);
  useShellKeys(paletteIs.toggle, helpIs.toggle, paletteIs.open);

  return (
    <AppShell
      header={{ height: 48 }}
      navbar={{ width: 200, breakpoint: "sm", collapsed: { mobile: !open } }}
      padding="md"
    >
      <a className="skip-link" href="#content">
        To the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={open}
              onClick={menu.toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={open ? "Close the menu" : "Open the menu"}
            />
            <UnstyledButton component={Link} to="/" aria-label="Tiphys, dashboard">
              <Group gap={8} wrap="nowrap">
                <img src="/icon.svg" width={24} height={24} alt="" />
                <Text fw={700} component="span">
                  Tiphys
                </Text>
              </Group>
            </UnstyledButton>
          </Group>
          <Group gap={6} wrap="nowrap">
            <SearchButton onClick={paletteIs.open} />
            <Tooltip label="Keys (?)">
              <ActionIcon variant="subtle" color="gray" onClick={helpIs.open} aria-label="Keyboard help" visibleFrom="xs">
                <Icon name="help" />
              </ActionIcon>
            </Tooltip>
            <SchemeButton />
            <Account />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        <ScrollArea>
          {PLACES.map((place) => (
            <NavLink
              key={place.to}
              component={Link}
              to={place.to}
              label={place.label}
              leftSection={<Icon name={place.icon} />}
              active={isUnder(pathname, place.to)}
              aria-current={isUnder(pathname, place.to) ? "page" : undefined}
            />
          ))}
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
      <Palette opened={palette} onClose={paletteIs.close} />
      <Help opened={help} onClose={helpIs.close} />
    </AppShell>
  );
}

function isUnder(pathname: string, place: string): boolean {
  return place === "/" ? pathname === "/" : pathname === place || pathname.startsWith(`${place}/`);
}

function SearchButton({ onClick }: { onClick: () => void }) {
  return (
    <UnstyledButton className="search-button" onClick={onClick} aria-label="Search" data-keys={isMac() ? "⌘K" : "Ctrl K"}>
      <Icon name="search" size={16} />
      <Text size="sm" component="span" visibleFrom="sm">
        Search
      </Text>
    </UnstyledButton>
  );
}

function isMac(): boolean {
  return /mac|iphone|ipad/i.test(navigator.platform);
}

/** `/` goes to the search field of the page where there is one, else to the palette. */
function useShellKeys(togglePalette: () => void, toggleHelp: () => void, openPalette: () => void): void {
  const navigate = useNavigate();
  const keys: Keys = {
    "mod+k": togglePalette,
    "?": toggleHelp,
    "/": () => {
      const field = document.querySelector<HTMLInputElement>("[data-search]");
      if (field) field.focus();
      else openPalette();
    },
  };
  for (const place of PLACES) keys[`g ${place.key}`] = () => void navigate({ to: place.to });
  useKeys(keys);
}

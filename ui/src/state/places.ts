import type { Component } from 'svelte'
import Bell from '@lucide/svelte/icons/bell'
import ChartLine from '@lucide/svelte/icons/chart-line'
import CircleUser from '@lucide/svelte/icons/circle-user'
import Clock from '@lucide/svelte/icons/clock'
import Contact from '@lucide/svelte/icons/contact'
import FileText from '@lucide/svelte/icons/file-text'
import Globe from '@lucide/svelte/icons/globe'
import Inbox from '@lucide/svelte/icons/inbox'
import Keyboard from '@lucide/svelte/icons/keyboard'
import KeyRound from '@lucide/svelte/icons/key-round'
import Layers from '@lucide/svelte/icons/layers'
import LogOut from '@lucide/svelte/icons/log-out'
import MailOpen from '@lucide/svelte/icons/mail-open'
import Megaphone from '@lucide/svelte/icons/megaphone'
import Monitor from '@lucide/svelte/icons/monitor'
import Moon from '@lucide/svelte/icons/moon'
import Network from '@lucide/svelte/icons/network'
import Plus from '@lucide/svelte/icons/plus'
import ScrollText from '@lucide/svelte/icons/scroll-text'
import Send from '@lucide/svelte/icons/send'
import ShieldOff from '@lucide/svelte/icons/shield-off'
import Settings from '@lucide/svelte/icons/settings'
import Sun from '@lucide/svelte/icons/sun'
import Users from '@lucide/svelte/icons/users'
import Webhook from '@lucide/svelte/icons/webhook'
import Workflow from '@lucide/svelte/icons/workflow'
import type { Session } from '../../../appliance/api/session.ts'
import { switchTeam } from '../api/teams.ts'
import { QUEUE_ACTIONS } from './queue.ts'
import { theme, utc, type Theme } from './remembered.svelte.ts'
import { auth, activateTeam, signOutAndClear } from './session.svelte.ts'
import { listSettingsTabs } from './settings.ts'
import { toast } from './toasts.svelte.ts'

/** A page in the navigation, listed by both the rail and the palette. */
export interface NavigationEntry {
  path: string
  label: string
  icon: Component<{ size?: number }>
  /** The right that is required to open it. */
  right?: Session['rights'][number]
}

const PLACES: readonly NavigationEntry[] = [
  { path: '/emails', label: 'Emails', icon: Send },
  { path: '/inbound', label: 'Inbound', icon: MailOpen },
  { path: '/broadcasts', label: 'Broadcasts', icon: Megaphone },
  { path: '/templates', label: 'Templates', icon: FileText },
  { path: '/automations', label: 'Automations', icon: Workflow },
  { path: '/audience/contacts', label: 'Audience', icon: Contact },
  { path: '/metrics', label: 'Metrics', icon: ChartLine },
  { path: '/alerts', label: 'Alerts', icon: Bell },
  { path: '/queue', label: 'Queue', icon: Layers },
  { path: '/domains', label: 'Domains', icon: Globe },
  { path: '/webhooks', label: 'Webhooks', icon: Webhook },
  { path: '/logs', label: 'Logs', icon: ScrollText },
  { path: '/api-keys', label: 'API keys', icon: KeyRound },
  { path: '/suppressions', label: 'Suppressions', icon: ShieldOff },
  { path: '/settings/team', label: 'Settings', icon: Settings },
]

const INBOX: NavigationEntry = { path: '/inbox', label: 'Inbox', icon: Inbox }

/** The page of sending IPs, for operators. Listed after the suppressions. */
const SOURCES: NavigationEntry = { path: '/sources', label: 'IPs', icon: Network }
const BEFORE_SOURCES = '/suppressions'

/**
 * Returns the pages in the order of the rail. The sandbox and the team that runs the server each have an additional
 * page.
 */
export function listNavigationEntries({
  sandbox,
  operator,
}: {
  sandbox: boolean
  operator: boolean
}): readonly NavigationEntry[] {
  const places = PLACES.flatMap((place) =>
    operator && place.path === BEFORE_SOURCES ? [place, SOURCES] : [place],
  )
  return sandbox ? [...places, INBOX] : places
}

/** Pages below others, in the palette. */
const WITHIN: readonly NavigationEntry[] = [
  { path: '/audience/segments', label: 'Audience: Segments', icon: Contact },
  { path: '/audience/topics', label: 'Audience: Topics', icon: Contact },
  { path: '/audience/properties', label: 'Audience: Properties', icon: Contact },
  { path: '/audience/forms', label: 'Audience: Forms', icon: Contact },
  { path: '/broadcasts/archive', label: 'Broadcasts: Public archive', icon: Megaphone },
]

/** Actions that can be started from any page. */
export const ACTIONS: readonly NavigationEntry[] = [
  { path: '/api-keys?new=1', label: 'Create API key', icon: Plus, right: 'keys' },
  { path: '/domains?new=1', label: 'Add domain', icon: Plus, right: 'configure' },
  { path: '/webhooks?new=1', label: 'Add webhook', icon: Plus, right: 'configure' },
  { path: '/audience/contacts?new=1', label: 'Add contacts', icon: Plus, right: 'configure' },
  { path: '/audience/segments?new=1', label: 'Create segment', icon: Plus, right: 'configure' },
  { path: '/audience/topics?new=1', label: 'Create topic', icon: Plus, right: 'configure' },
  { path: '/audience/forms?new=1', label: 'Create sign-up form', icon: Plus, right: 'configure' },
  { path: '/broadcasts?new=1', label: 'Create broadcast', icon: Plus, right: 'send' },
  { path: '/templates?new=1', label: 'Create template', icon: Plus, right: 'configure' },
  { path: '/automations?new=1', label: 'Create automation', icon: Plus, right: 'send' },
  { path: '/suppressions?new=1', label: 'Suppress addresses', icon: Plus, right: 'configure' },
]

/** Actions on the queue, shown in the palette only for a search. */
export const listQueueActions = (operator: boolean): readonly NavigationEntry[] =>
  QUEUE_ACTIONS.filter((look) => !look.operator || operator).map(({ action, words }) => ({
    path: `/queue?do=${action}`,
    label: `Queue: ${words}…`,
    icon: Layers,
    right: 'operate',
  }))

/** An action that runs immediately, on any page. */
export interface PaletteAction {
  label: string
  icon: Component<{ size?: number }>
  act: () => void
}

const THEMES: readonly [value: Theme, label: string, icon: PaletteAction['icon']][] = [
  ['system', 'Theme: system', Monitor],
  ['light', 'Theme: light', Sun],
  ['dark', 'Theme: dark', Moon],
]

/** Returns further pages and actions for the palette, without settings that are already active. */
export function listPaletteActions({
  onkeys,
}: {
  onkeys: () => void
}): readonly (NavigationEntry | PaletteAction)[] {
  const session = auth.standing.kind === 'in' ? auth.standing.session : null
  const say = (doing: Promise<unknown>) =>
    void doing.catch((error: unknown) => toast(error instanceof Error ? error.message : String(error)))
  return [
    ...listSettingsTabs()
      .filter(({ id }) => id !== 'team')
      .map(({ id, label }) => ({ path: `/settings/${id}`, label: `Settings: ${label}`, icon: Settings })),
    ...WITHIN,
    { path: '/account', label: 'Your account', icon: CircleUser },
    ...(session?.teams ?? [])
      .filter(({ id }) => id !== session?.team.id)
      .map(({ id, name }) => ({
        label: `Switch to team ${name}`,
        icon: Users,
        act: () => say(switchTeam(id).then(activateTeam)),
      })),
    ...THEMES.filter(([value]) => value !== theme.value).map(([value, label, icon]) => ({
      label,
      icon,
      act: () => void (theme.value = value),
    })),
    {
      label: utc.value ? 'Times: local' : 'Times: UTC',
      icon: Clock,
      act: () => void (utc.value = !utc.value),
    },
    { label: 'Keyboard shortcuts', icon: Keyboard, act: onkeys },
    { label: 'Sign out', icon: LogOut, act: () => say(signOutAndClear()) },
  ]
}

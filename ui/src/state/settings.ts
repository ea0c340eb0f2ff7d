import type { Component } from 'svelte'
import type { Session } from '../../../appliance/api/session.ts'
import { may, operates } from './session.svelte.ts'

/** A tab of the settings; each is loaded when it is opened. */
export interface SettingsTab {
  /** Its address is `/settings/<id>`. */
  id: string
  label: string
  /** Who lacks it does not see the tab. */
  right?: Session['rights'][number]
  /** About the whole machine: other teams do not see the tab. */
  operator?: true
  load: () => Promise<{ default: Component }>
}

/** In the order of the page. */
const SETTINGS: readonly SettingsTab[] = [
  { id: 'team', label: 'Team', load: () => import('../parts/SettingsTeam.svelte') },
  { id: 'members', label: 'Members', load: () => import('../parts/SettingsMembers.svelte') },
  {
    id: 'unsubscribe',
    label: 'Unsubscribe page',
    load: () => import('../parts/SettingsUnsubscribe.svelte'),
  },
  { id: 'usage', label: 'Usage and limits', load: () => import('../parts/SettingsUsage.svelte') },
  {
    id: 'retention',
    label: 'Retention and disk',
    load: () => import('../parts/SettingsRetention.svelte'),
  },
  {
    id: 'nodes',
    label: 'Nodes',
    operator: true,
    load: () => import('../parts/SettingsNodes.svelte'),
  },
  {
    id: 'audit',
    label: 'Audit log',
    right: 'security',
    load: () => import('../parts/SettingsAudit.svelte'),
  },
]

/** Those that the person sees. */
export const openSettings = (): readonly SettingsTab[] =>
  SETTINGS.filter(({ right, operator }) => (!right || may(right)) && (!operator || operates()))

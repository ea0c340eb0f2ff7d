import type { Component } from 'svelte'
import type { Session } from '../../../appliance/api/session.ts'
import { may, isOperator } from './session.svelte.ts'

/** A tab of the settings, loaded on demand. */
export interface SettingsTab {
  /** Its address is `/settings/<id>`. */
  id: string
  label: string
  /** The right required to see the tab. */
  right?: Session['rights'][number]
  /** Whether the tab concerns the whole server, so that only operators see it. */
  operator?: true
  load: () => Promise<{ default: Component }>
}

/** Tabs, in the order shown. */
const SETTINGS: readonly SettingsTab[] = [
  { id: 'team', label: 'Team', load: () => import('../parts/SettingsTeam.svelte') },
  { id: 'members', label: 'Members', load: () => import('../parts/SettingsMembers.svelte') },
  {
    id: 'unsubscribe',
    label: 'Unsubscribe page',
    load: () => import('../parts/SettingsUnsubscribe.svelte'),
  },
  { id: 'rules', label: 'Provider rules', load: () => import('../parts/SettingsRules.svelte') },
  { id: 'alerts', label: 'Alerts', load: () => import('../parts/SettingsAlerts.svelte') },
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

/** Returns the tabs that the person may see. */
export const listSettingsTabs = (): readonly SettingsTab[] =>
  SETTINGS.filter(({ right, operator }) => (!right || may(right)) && (!operator || isOperator()))

import type { Component } from 'svelte'
import ChartNoAxesColumn from '@lucide/svelte/icons/chart-no-axes-column'
import Globe from '@lucide/svelte/icons/globe'
import Inbox from '@lucide/svelte/icons/inbox'
import KeyRound from '@lucide/svelte/icons/key-round'
import Plus from '@lucide/svelte/icons/plus'
import ScrollText from '@lucide/svelte/icons/scroll-text'
import Send from '@lucide/svelte/icons/send'
import ShieldOff from '@lucide/svelte/icons/shield-off'

/** Where one can go: the rail and the palette show the same list. */
export interface Place {
  path: string
  label: string
  icon: Component<{ size?: number }>
}

const PLACES: readonly Place[] = [
  { path: '/emails', label: 'Emails', icon: Send },
  { path: '/domains', label: 'Domains', icon: Globe },
  { path: '/logs', label: 'Logs', icon: ScrollText },
  { path: '/api-keys', label: 'API keys', icon: KeyRound },
  { path: '/suppressions', label: 'Suppressions', icon: ShieldOff },
  { path: '/usage', label: 'Usage', icon: ChartNoAxesColumn },
]

const INBOX: Place = { path: '/inbox', label: 'Inbox', icon: Inbox }

/** The pages in the order of the rail; the sandbox has one more. */
export const placesOf = (sandbox: boolean): readonly Place[] => (sandbox ? [...PLACES, INBOX] : PLACES)

/** What can be begun from anywhere. */
export const ACTIONS: readonly Place[] = [
  { path: '/api-keys?new=1', label: 'Create an API key', icon: Plus },
  { path: '/domains?new=1', label: 'Add a domain', icon: Plus },
  { path: '/suppressions?new=1', label: 'Suppress addresses', icon: Plus },
]

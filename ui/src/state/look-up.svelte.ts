/** Search results of the palette: domains, webhooks, API keys, suppressions and emails. */
import Globe from '@lucide/svelte/icons/globe'
import KeyRound from '@lucide/svelte/icons/key-round'
import MailSearch from '@lucide/svelte/icons/mail-search'
import ShieldOff from '@lucide/svelte/icons/shield-off'
import Webhook from '@lucide/svelte/icons/webhook'
import { listApiKeys, listDomains, listSuppressions, listWebhooks } from '../api/calls.ts'
import { searchEmails } from '../api/emails.ts'
import { parseSearch, detectCondition } from './email-search.ts'
import { filterByText } from './find.ts'
import type { NavigationEntry } from './places.ts'
import { resource } from './resource.svelte.ts'

/** Minimum number of characters to search for. */
const ENOUGH = 2
/** Maximum number of results of each kind. */
const SHOWN = 5

export interface PaletteSearch {
  readonly entries: readonly NavigationEntry[]
  /** A message if nothing was found or the search failed. */
  readonly said: string
}

/** Searches for the typed text while the calling component exists. */
export function createPaletteSearch(text: () => string): PaletteSearch {
  const named = namedLike(text)
  const emails = emailsLike(text)
  const said = $derived(named.busy || named.entries.length > 0 ? '' : emails.said)
  return {
    get entries() {
      return [...named.entries, ...emails.entries]
    },
    get said() {
      return said
    },
  }
}

/** Time without a keystroke before suppressions are searched, in milliseconds. */
const REST = 150

/** Loads a list once, when first needed. It may become outdated, which is harmless because it only links to pages. */
function listOnce<Row>(
  needed: () => boolean,
  load: (signal: AbortSignal) => Promise<{ data: Row[] }>,
): { readonly rows: readonly Row[]; readonly busy: boolean } {
  let rows = $state.raw<readonly Row[]>([])
  let busy = $state(true)
  const wanted = $derived(needed())
  $effect(() => {
    if (!wanted || !busy) return
    const round = new AbortController()
    void load(round.signal)
      .then(({ data }) => (rows = data))
      .catch(() => undefined)
      .finally(() => (busy &&= round.signal.aborted))
    return () => round.abort()
  })
  return {
    get rows() {
      return rows
    },
    get busy() {
      return wanted && busy
    },
  }
}

function namedLike(text: () => string): {
  readonly entries: readonly NavigationEntry[]
  readonly busy: boolean
} {
  const wanted = $derived(text().trim().toLowerCase())
  const enough = $derived(wanted.length >= ENOUGH)
  const domains = listOnce(() => enough, listDomains)
  const webhooks = listOnce(() => enough, listWebhooks)
  const keys = listOnce(() => enough, listApiKeys)
  let rested = $state('')
  $effect(() => {
    const now = wanted
    const timer = setTimeout(() => (rested = now), REST)
    return () => clearTimeout(timer)
  })
  const suppressions = resource({
    key: () => (rested.length >= ENOUGH ? `palette suppressions ${rested}` : null),
    load: (signal) => listSuppressions({ origin: '', search: rested }, SHOWN, signal),
  })
  const found = <Row>(rows: readonly Row[], words: (row: Row) => string[]): Row[] =>
    enough ? filterByText(rows, wanted, words).slice(0, SHOWN) : []
  const entries = $derived<NavigationEntry[]>([
    ...found(domains.rows, ({ name }) => [name]).map(({ id, name }) => ({
      path: `/domains/${id}`,
      label: `Domain: ${name}`,
      icon: Globe,
    })),
    ...found(webhooks.rows, ({ endpoint }) => [endpoint]).map(({ id, endpoint }) => ({
      path: `/webhooks/${id}`,
      label: `Webhook: ${endpoint}`,
      icon: Webhook,
    })),
    ...found(keys.rows, ({ name, prefix }) => [name, prefix ?? '']).map(({ id, name }) => ({
      path: `/api-keys?key=${id}`,
      label: `API key: ${name || '(no name)'}`,
      icon: KeyRound,
    })),
    ...found(suppressions.data?.data ?? [], ({ email }) => [email]).map(({ id, email }) => ({
      path: `/suppressions?id=${id}`,
      label: `Suppression: ${email}`,
      icon: ShieldOff,
    })),
  ])
  const searching = $derived(
    enough && (rested !== wanted || (suppressions.data === undefined && suppressions.error === null)),
  )
  return {
    get entries() {
      return entries
    },
    get busy() {
      return searching || domains.busy || webhooks.busy || keys.busy
    },
  }
}

/** Searches for text that looks like an email's ID, a (partial) address, a Message-ID or a remote queue ID. */
function emailsLike(text: () => string): PaletteSearch {
  const wanted = $derived(detectCondition(text()))
  const email = resource({
    key: () => (wanted === null ? null : `palette ${JSON.stringify(wanted)}`),
    load: (signal) => searchEmails(wanted ?? {}, null, SHOWN, signal),
  })
  const entries = $derived.by((): NavigationEntry[] => {
    const q = text().trim()
    const emails = (email.data?.data ?? []).map(({ id, subject, to }) => ({
      path: `/emails/${id}`,
      label: `${subject || '(no subject)'} to ${to[0] ?? 'no recipient'}`,
      icon: MailSearch,
    }))
    if (q === '' || parseSearch(q, 0, true).problem !== null) return emails
    const all = {
      path: `/emails?${new URLSearchParams({ q })}`,
      label: `Search emails for ${q}`,
      icon: MailSearch,
    }
    return [...emails, all]
  })
  const said = $derived.by(() => {
    if (wanted === null) return ''
    if (email.error) return email.error
    if (email.data === undefined) return 'Searching…'
    if (email.data.data.length > 0) return ''
    if (email.data.has_more) return 'No match among the newest emails. Search emails to look further back.'
    return wanted.id === undefined ? 'No matching email' : 'No email has this ID'
  })
  return {
    get entries() {
      return entries
    },
    get said() {
      return said
    },
  }
}

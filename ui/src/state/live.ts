/**
 * Receives events about emails and lanes from the server. Pages also refresh on their own; events only make them
 * faster.
 */

/** Time before a rejected stream is reconnected, in milliseconds. The browser reconnects interrupted streams itself. */
const AGAIN = 10_000
/** Time in which a burst of events causes one refresh, in milliseconds. */
const PAUSE = 1000

type Listener = (emailId: string | null) => void

const listeners = new Set<Listener>()
/** Listeners for lane changes. */
const laneListeners = new Set<() => void>()
let source: EventSource | undefined
let retry: ReturnType<typeof setTimeout> | undefined

function open(): void {
  source = new EventSource('/live')
  source.addEventListener('email', (event: Event) => {
    const { email_id: id } = JSON.parse((event as MessageEvent).data as string) as { email_id: string | null }
    for (const listener of listeners) listener(id)
  })
  source.addEventListener('lanes', () => {
    for (const listener of laneListeners) listener()
  })
  // Refresh now, because events between the page's request and the connection were missed.
  for (const type of ['open', 'reset'])
    source.addEventListener(type, () => {
      for (const listener of listeners) listener(null)
    })
  source.addEventListener('error', () => {
    if (source?.readyState !== EventSource.CLOSED) return
    clearTimeout(retry)
    retry = setTimeout(open, AGAIN)
  })
}

function close(): void {
  clearTimeout(retry)
  source?.close()
  source = undefined
}

/**
 * Calls `act` soon after events, at most once a second, with the IDs of the emails.
 * @param only the ID of one email; undefined for all emails
 * @returns a function that stops the calls
 */
export function onEmailsChange(act: (ids: ReadonlySet<string>) => void, only?: string): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let ids = new Set<string>()
  const listener: Listener = (id) => {
    if (only !== undefined && id !== null && id !== only) return
    if (id !== null) ids.add(id)
    timer ??= setTimeout(() => {
      timer = undefined
      const told = ids
      ids = new Set()
      act(told)
    }, PAUSE)
  }
  listeners.add(listener)
  if (listeners.size + laneListeners.size === 1) open()
  return () => {
    clearTimeout(timer)
    listeners.delete(listener)
    if (listeners.size + laneListeners.size === 0) close()
  }
}

/** Calls `act` when the pace, pause or reason of a lane changes. Only operators receive these events. */
export function onLanesChange(act: () => void): () => void {
  laneListeners.add(act)
  if (listeners.size + laneListeners.size === 1) open()
  return () => {
    laneListeners.delete(act)
    if (listeners.size + laneListeners.size === 0) close()
  }
}

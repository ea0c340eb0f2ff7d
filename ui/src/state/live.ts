/** What happens to emails and lanes, as the appliance tells it. Pages read by themselves too: this only makes them quicker. */

/** Pause before a stream that was refused is asked for again (milliseconds); those that break come back by themselves. */
const AGAIN = 10_000
/** A burst of events is one refresh (milliseconds). */
const PAUSE = 1000

type Listener = (emailId: string | null) => void

const listeners = new Set<Listener>()
/** Those that want to know of lanes. */
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
  // What happened since the page asked for its data, and before it was listened to, was told to nobody.
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
 * Calls `act` soon after something happened, at most once a second, with the emails that were named.
 * @param only the email that matters; undefined: all of them
 * @returns how to stop that
 */
export function whenEmailsChange(act: (ids: ReadonlySet<string>) => void, only?: string): () => void {
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

/** Calls `act` when a lane has changed: its pace, its pause, its reason. Only who runs the appliance is told. */
export function whenLanesChange(act: () => void): () => void {
  laneListeners.add(act)
  if (listeners.size + laneListeners.size === 1) open()
  return () => {
    laneListeners.delete(act)
    if (listeners.size + laneListeners.size === 0) close()
  }
}

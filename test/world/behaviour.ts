/** How an exchanger reacts to commands: written as small functions that combine. */

/** A moment at which an exchanger may do something else than accept. */
export interface Step {
  /** `data`: the body begins to come; `message`: it is complete. */
  command: 'connect' | 'mail' | 'rcpt' | 'data' | 'message'
  /** The reverse-path of `mail`, the forward-path of `rcpt`, else null. */
  address: string | null
  /** How often this exchanger has come to this command, this time included. */
  count: number
  ehlo: string
  tls: boolean
}

/**
 * A reply such as `450 4.7.1 later`; `drop`, which closes the connection without a word; or a pause, in milliseconds or
 * until the test says so, before going on. At `data` only `drop` and a pause are possible, because the reply follows the
 * body.
 */
export type Reaction = string | (({ pauseMs: number } | { until: Promise<unknown> }) & { then?: string })

/** Undefined accepts. */
export type Behaviour = (step: Step) => Reaction | undefined

/** Reacts to one command: always, or for some addresses, or the first `times` times only. */
export function on(
  command: Step['command'],
  reaction: Reaction,
  only: { address?: string | RegExp; times?: number } = {},
): Behaviour {
  let times = 0
  return (step) => {
    if (step.command !== command || !matches(step.address, only.address)) return undefined
    times++
    return times <= (only.times ?? Infinity) ? reaction : undefined
  }
}

/** The first behaviour that reacts wins. */
export function firstOf(...behaviours: Behaviour[]): Behaviour {
  return (step) => {
    let reaction: Reaction | undefined
    behaviours.some((behaviour) => (reaction = behaviour(step)) !== undefined)
    return reaction
  }
}

function matches(address: string | null, wanted: string | RegExp | undefined): boolean {
  if (wanted === undefined) return true
  if (address === null) return false
  return typeof wanted === 'string' ? address === wanted : wanted.test(address)
}

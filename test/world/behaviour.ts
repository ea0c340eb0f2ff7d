/** Behaviors of a mail exchanger: small functions that decide how it reacts to commands, and that can be combined. */

/** A point in the conversation at which an exchanger may react. */
export interface Step {
  /** `data`: the body begins to arrive. `message`: the body is complete. */
  command: 'connect' | 'mail' | 'rcpt' | 'data' | 'message'
  /** The reverse-path of `mail` or the forward-path of `rcpt`; otherwise null. */
  address: string | null
  /** How many times this exchanger has received this command, including this one. */
  count: number
  ehlo: string
  tls: boolean
  /** The IP that the connection comes from. */
  client: string
}

/**
 * One of: a reply such as `450 4.7.1 later`; `drop`, which closes the connection without a reply; or a pause before
 * continuing, in milliseconds or until a promise resolves. At `data`, only `drop` and a pause are possible, because the
 * reply follows the body.
 */
export type Reaction = string | (({ pauseMs: number } | { until: Promise<unknown> }) & { then?: string })

/** Decides how to react. Undefined means accept. */
export type Behaviour = (step: Step) => Reaction | undefined

/** Reacts to one command: always, only for some addresses, or only the first `times` times. */
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

/** Combines behaviors. The first one that reacts wins. */
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

/** What the receivers saw, in their own words. Times in Unix milliseconds of the simulation. */

/** Said: the sender was told that the message is taken. Unsaid: taken, but the connection broke before a word. */
export type Verdict = 'said' | 'unsaid' | 'refused' | 'deferred' | 'broken'

/** What became of one recipient in one transaction. */
export interface Answer {
  at: number
  personality: string
  connection: number
  recipient: string
  verdict: Verdict
  /** The reply's code; 0 without one. */
  code: number
}

export interface Connection {
  id: number
  personality: string
  /** The exchanger's name. */
  host: string
  /** Where it was dialled from. */
  ip: string
  openedAt: number
  closedAt: number
  /** Connections from that address to this personality when it opened, this one included. */
  abreast: number
  /** When each MAIL command came. */
  transactions: number[]
  encrypted: boolean
}

export interface Records {
  answers: Answer[]
  connections: Connection[]
}

/** The verdict that a reply makes. */
export function verdictOf(code: number): Verdict {
  if (code >= 200 && code < 300) return 'said'
  if (code >= 500) return 'refused'
  return code >= 400 ? 'deferred' : 'broken'
}

/** What was counted: roll-ups of the events, written with them. */

/** Which numbers are asked for. Times are Unix milliseconds; a range includes its start and ends before its end. */
export interface MetricsQuery {
  teamId: string
  /** Only these domains; undefined: all. */
  domainIds?: string[] | undefined
  /** Only these mailbox providers; undefined: all. Not heeded by `sumEmailMetrics`. */
  providers?: string[] | undefined
  /** The ranges, in their order and not overlapping; ends that are no quarter of an hour count whole quarters. */
  ranges: readonly { start: number; end: number }[]
  /** Of `sumMetrics`: the sums are of all these domains together, and their `domainId` is empty. Half the work where many send. */
  together?: boolean
  /**
   * Of `sumMetrics`: read the sums of this length (`SUMMED` of storage/counters.ts), where the ranges are whole and end before
   * what `metricsSummed` tells. Not for both domains and providers. Undefined: quarters of an hour.
   */
  length?: number | undefined
}

/** A sum within one of the ranges. */
export interface MetricsSum {
  /** Start of the range. */
  start: number
  domainId: string
  /** Name of the counter, such as `delivered` or `bounced_permanent` (storage/counters.ts). */
  counter: string
  n: number
}

/** What a range is broken down by, and how far. */
export interface BreakdownQuery extends Omit<MetricsQuery, 'ranges' | 'together'> {
  range: { start: number; end: number }
  by: 'domain' | 'provider' | 'tag'
  /** Counters that matter: sums are of these, and size is too. */
  counters: readonly string[]
  /** How many values are told one by one: the largest. */
  most: number
}

/** A sum of one domain, provider or tag (`name:value`); `value` null: of all that are not told one by one. */
export interface BreakdownSum {
  value: string | null
  counter: string
  n: number
}

/** A sum of one email within one of the ranges. */
export interface EmailMetricsSum extends MetricsSum {
  emailId: string
}

/** A time of a team in which something happened or was counted. */
export interface MetricsSpan {
  teamId: string
  first: number
  last: number
}

/** What events add to a roll-up by tag. */
export interface TagCount {
  teamId: string
  /** Start of the quarter of an hour. */
  at: number
  domainId: string
  /** Empty where the event is about several recipients. */
  provider: string
  /** `name:value`; empty for those that are not told apart. */
  tag: string
  counter: string
  n: number
}

/** What the next stretch of the events adds to the roll-ups by tag. */
export interface TagStretch {
  /** Numbers of events: after the first, up to and with the last. The same: there is nothing to add. */
  from: number
  to: number
  counts: TagCount[]
}

/** An event as those who watch need it: they read the rest where they want to see more. */
export interface LiveEvent {
  seq: number
  teamId: string
  emailId: string | null
  type: string
  createdAt: number
}

export interface MetricsStorage {
  /** Events after a number, of one team or of all, in their order. */
  liveEvents(
    args: { teamId?: string | undefined; after: number; limit: number },
    now: number,
  ): Promise<LiveEvent[]>
  /** Number of the newest event; 0 when there is none. */
  lastEvent(args: object, now: number): Promise<number>

  /** Before when the sums of hours, days and weeks are complete, a midnight of UTC; it only grows. 0: there are none. */
  metricsSummed(args: { teamId: string }, now: number): Promise<number>
  /** Teams with roll-ups of days that are over and not summed up. */
  metricsToSum(args: object, now: number): Promise<string[]>
  /** Sums up the next day of a team that is over; whether there was one. */
  sumMetricsUp(args: { teamId: string }, now: number): Promise<boolean>

  /** The next stretch that is not in the roll-ups by tag, some hundreds of events. */
  readTagCounts(
    args: object,
    now: number,
  ): Promise<
    TagStretch & {
      /** When its first event happened; null: there is none. */
      since: number | null
      /** There are events after it. */
      more: boolean
    }
  >
  /** Adds a stretch to the roll-ups by tag and moves past it; false: another process was faster, and nothing was added. */
  addTagCounts(args: TagStretch, now: number): Promise<boolean>

  /**
   * From the roll-ups: at most a day of quarters in one call, since a month of a large team holds the reading thread for a second
   * (`sumInPieces` of events/metrics-pieces.ts).
   */
  sumMetrics(args: MetricsQuery, now: number): Promise<MetricsSum[]>
  /**
   * From the roll-ups, by domain, mailbox provider or tag; of at most a day of quarters as well (`breakDownInPieces`). With a `length` there
   * may be no filter but of what it is broken down by, and by tag one. By tag there are only days, and only what `addTagCounts` added.
   */
  breakDownMetrics(args: BreakdownQuery, now: number): Promise<BreakdownSum[]>
  /**
   * From the events, of these emails or of all. Undefined when more than `mostEvents` would have to be read: then the
   * question has to be narrower.
   */
  sumEmailMetrics(
    args: MetricsQuery & { emailIds?: string[] | undefined; mostEvents: number },
    now: number,
  ): Promise<EmailMetricsSum[] | undefined>
  /** The time that there is anything to recompute of, of each team. */
  metricsSpans(args: object, now: number): Promise<MetricsSpan[]>
  /**
   * Makes the roll-ups of a team from its events again, for the quarters of an hour from `start` until before `end`, whole
   * quarters both, and the sums of the days in it; those by tag too, as far as they have come. Quarters of which events were deleted stay as they are. Returns how many
   * numbers were wrong, and how many quarters were left.
   */
  recomputeMetrics(
    args: { teamId: string; start: number; end: number },
    now: number,
  ): Promise<{ changed: number; left: number }>
}

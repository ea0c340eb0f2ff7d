/** The audit log: every administrative act, before it happens and with what came of it. Entries are never changed otherwise. */
import type { AuditEntry, NewAuditEntry } from '../../mail/audit.ts'
import type { Page, PageArgs } from './page.ts'

export type { Actor, ActorKind, AuditEntry } from '../../mail/audit.ts'

/** Which entries are meant: those that meet all conditions. */
export interface AuditFilter {
  /** Of this team; undefined: of all teams and of the appliance. */
  teamId?: string | undefined
  /** With a team: also those of the whole appliance. */
  appliance?: boolean | undefined
  /** Part of who acted or of the actor's name, in any case of letters. */
  actor?: string | undefined
  /** Noun and verb, `domain.create`, or a noun alone. */
  action?: string | undefined
  /** As it is written, `domain 0193…`, its noun or its id alone, or a part of its name in any case of letters. */
  target?: string | undefined
  /** From this instant on (Unix milliseconds). */
  since?: number | undefined
  /** Before this instant. */
  until?: number | undefined
}

export interface AuditStorage {
  /** Writes an act down. A long one is written down before it begins, with `after` null. */
  appendAudit(args: { entry: NewAuditEntry }, now: number): Promise<void>
  /**
   * What came of an act; once. False when there is no such entry, or it was said already.
   * @param args target: in place of the one that was written down, where what was made got its id meanwhile
   */
  completeAudit(
    args: { id: string; after: unknown; target?: string | undefined },
    now: number,
  ): Promise<boolean>
  /** Undefined for entries of other teams, where a team is given. `appliance`: as in the filter. */
  getAudit(
    args: { id: string } & Pick<AuditFilter, 'teamId' | 'appliance'>,
    now: number,
  ): Promise<AuditEntry | undefined>
  /** Newest first. */
  listAudit(args: AuditFilter & Omit<PageArgs, 'teamId'>, now: number): Promise<Page<AuditEntry>>
  /**
   * Removes entries of before an instant (Unix milliseconds), oldest first; returns how many. Those of rules that still hold
   * mail stay: undoing needs them.
   */
  purgeAudit(args: { before: number; most: number }, now: number): Promise<number>
}

/** The addresses that mail leaves from, and which mail uses which of them. They are the appliance's, of no team. */
import type { Assignment, Source } from '../../mail/source.ts'

/** What can be changed of a source; what is not given stays. */
export type SourceChange = Partial<Omit<Source, 'ip' | 'origin'>>

export interface SourceStorage {
  /** All sources, by pool and address. */
  listSources(args: object, now: number): Promise<Source[]>
  /** Adds a source unless its address is there already, which then stays as it is; tells whether it was added. */
  addSource(args: { source: Source }, now: number): Promise<boolean>
  /**
   * Changes a source; false when there is none. With `seen`, only while state and who suspended it are still like that:
   * a check must not end what an operator did meanwhile.
   */
  saveSource(
    args: { ip: string; change: SourceChange; seen?: Pick<Source, 'state' | 'suspendedBy'> | undefined },
    now: number,
  ): Promise<boolean>
  /** False when there is none. */
  removeSource(args: { ip: string }, now: number): Promise<boolean>

  /** All assignments, oldest first. */
  listAssignments(args: object, now: number): Promise<Assignment[]>
  /**
   * Adds an assignment, or changes the pool of the one that is about the same mail; returns what is stored. Undefined when
   * team or domain do not exist, or the domain is another team's.
   */
  saveAssignment(args: { assignment: Assignment }, now: number): Promise<Assignment | undefined>
  /** False when there is none. */
  removeAssignment(args: { id: string }, now: number): Promise<boolean>
}

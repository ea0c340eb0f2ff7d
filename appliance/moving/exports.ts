/** The services whose exported files can be moved. */
import { serveExport, type Export, type ExportFile, type ExportRemark } from './files.ts'
import type { HostedClient } from './hosted.ts'
import { readListmonk } from './listmonk.ts'
import { readMailchimp } from './mailchimp.ts'
import { readPostal } from './postal.ts'
import { countSkipped, type ObjectKind, type MoveReport } from './report.ts'
import { readSes } from './ses.ts'

/** Services, as given on the command line. */
export const EXPORTERS = ['ses', 'mailchimp', 'listmonk', 'postal'] as const
export type Exporter = (typeof EXPORTERS)[number]

/** The function that reads each service's files, and the kinds of objects that they can contain. */
const READERS: Record<
  Exporter,
  { read: (files: readonly ExportFile[], now: number) => Export; kinds: readonly ObjectKind[] }
> = {
  ses: { read: readSes, kinds: ['suppressions', 'templates'] },
  mailchimp: {
    read: readMailchimp,
    kinds: ['suppressions', 'properties', 'segments', 'contacts', 'templates'],
  },
  listmonk: {
    read: readListmonk,
    kinds: ['properties', 'segments', 'contacts', 'templates', 'broadcasts'],
  },
  postal: { read: readPostal, kinds: ['domains', 'suppressions'] },
}

/** Maximum number of notes of each kind, because a file may cause one for every line. */
const MOST_NOTES = 100

/** An export that was read. */
export interface ParsedExport {
  /** Serves the content of the export like the API. */
  hosted: HostedClient
  kinds: readonly ObjectKind[]
  /** Adds objects that could not be moved to the report, after the move. */
  finish(report: MoveReport): void
}

/**
 * Reads exported files. Throws `HostedError` with the file and the line if a file isn't an export of the service.
 * @param now Unix milliseconds
 */
export function parseExport(from: Exporter, files: readonly ExportFile[], now: number): ParsedExport {
  const { read, kinds } = READERS[from]
  const found = read(files, now)
  return {
    hosted: serveExport(found, from),
    kinds,
    finish(report) {
      for (const { kind, what, text } of found.problems)
        withCount(report, kind, (count) => {
          count.there += 1
          countSkipped(count, what, text)
        })
      for (const note of found.notes)
        withCount(report, note.kind, (count) => {
          if (count.notes.length < MOST_NOTES) count.notes.push(remarkOf(note))
        })
    },
  }
}

const remarkOf = ({ what, text }: ExportRemark) => ({ what, text })

/** Updates the count of a kind. Does nothing for kinds that were not requested. */
function withCount(
  { counts }: MoveReport,
  kind: ObjectKind,
  work: (count: NonNullable<MoveReport['counts'][ObjectKind]>) => void,
): void {
  const count = counts[kind]
  if (count) work(count)
}

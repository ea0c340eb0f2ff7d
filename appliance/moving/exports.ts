/** The services whose exported files can be moved. */
import { serveExport, type Export, type ExportFile, type ExportRemark } from './files.ts'
import type { Hosted } from './hosted.ts'
import { readListmonk } from './listmonk.ts'
import { readMailchimp } from './mailchimp.ts'
import { readPostal } from './postal.ts'
import { leaveOut, type Kind, type Report } from './report.ts'
import { readSes } from './ses.ts'

/** Services, as given on the command line. */
export const EXPORTERS = ['ses', 'mailchimp', 'listmonk', 'postal'] as const
export type Exporter = (typeof EXPORTERS)[number]

/** The function that reads each service's files, and the kinds of objects that they can contain. */
const READERS: Record<
  Exporter,
  { read: (files: readonly ExportFile[], now: number) => Export; kinds: readonly Kind[] }
> = {
  ses: { read: readSes, kinds: ['suppressions', 'templates'] },
  mailchimp: { read: readMailchimp, kinds: ['suppressions', 'properties', 'segments', 'contacts'] },
  listmonk: {
    read: readListmonk,
    kinds: ['properties', 'segments', 'contacts', 'templates', 'broadcasts'],
  },
  postal: { read: readPostal, kinds: ['domains', 'suppressions'] },
}

/** Maximum number of notes of each kind, because a file may cause one for every line. */
const MOST_NOTES = 100

/** An export that was read. */
export interface OpenedExport {
  /** Serves its content like the API. */
  hosted: Hosted
  kinds: readonly Kind[]
  /** Adds what could not be moved to the report, after the move. */
  finish(report: Report): void
}

/**
 * Reads exported files. Throws `HostedFailed` with the file and the line if a file isn't an export of the service.
 * @param now Unix milliseconds
 */
export function openExport(from: Exporter, files: readonly ExportFile[], now: number): OpenedExport {
  const { read, kinds } = READERS[from]
  const found = read(files, now)
  return {
    hosted: serveExport(found, from),
    kinds,
    finish(report) {
      for (const { kind, what, text } of found.problems)
        withCount(report, kind, (count) => {
          count.there += 1
          leaveOut(count, what, text)
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
  { counts }: Report,
  kind: Kind,
  work: (count: NonNullable<Report['counts'][Kind]>) => void,
): void {
  const count = counts[kind]
  if (count) work(count)
}

/** One thing that is wrong with the configuration. */
export interface Complaint {
  /** The file in which it is, with the line where that is known; null for the environment and for what is missing. */
  file: string | null
  line: number | null
  /** The environment variable in which it is. */
  variable: string | null
  /** The dotted name of the setting; null when the file as a whole is meant. */
  key: string | null
  /** What was found and what is expected, one sentence. */
  message: string
}

/** A complaint as one line: `/etc/posthaste/posthaste.toml:12: http.listen is …`. */
export function formatComplaint({ file, line, variable, message }: Complaint): string {
  const place = variable ?? (file === null ? null : line === null ? file : `${file}:${line}`)
  return place === null ? message : `${place}: ${message}`
}

/** The file from top to bottom, then the environment, then what is missing. */
export function sortComplaints(complaints: readonly Complaint[]): Complaint[] {
  const rank = ({ file, variable }: Complaint) => (file !== null ? 0 : variable !== null ? 1 : 2)
  return complaints.toSorted((a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0))
}

/** An error in the configuration. */
export interface ConfigError {
  /** The file, with the line if known; null for environment variables and for missing settings. */
  file: string | null
  line: number | null
  /** The environment variable. */
  variable: string | null
  /** The setting's dotted name; null for the file as a whole. */
  key: string | null
  /** A sentence that says what was found and what is expected. */
  message: string
}

/** Formats a complaint on one line: `/etc/posthaste/posthaste.toml:12: http.listen is …`. */
export function formatConfigError({ file, line, variable, message }: ConfigError): string {
  const place = variable ?? (file === null ? null : line === null ? file : `${file}:${line}`)
  return place === null ? message : `${place}: ${message}`
}

/** Sorts complaints: the file from top to bottom, then the environment, then missing settings. */
export function sortConfigErrors(complaints: readonly ConfigError[]): ConfigError[] {
  const rank = ({ file, variable }: ConfigError) => (file !== null ? 0 : variable !== null ? 1 : 2)
  return complaints.toSorted((a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0))
}

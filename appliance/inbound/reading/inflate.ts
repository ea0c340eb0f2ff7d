/** Runs zlib and maps its errors. Pure. */

/**
 * Why a report can't be read. `dangerous`: it contains something that no report needs, such as a document type or
 * encryption.
 */
export type ReportProblem = 'too-large' | 'damaged' | 'dangerous' | 'not-a-report'
export type Unpacked = { kind: 'unpacked'; bytes: Uint8Array } | { kind: 'problem'; problem: ReportProblem }

export const problem = (problem: ReportProblem): { kind: 'problem'; problem: ReportProblem } => ({
  kind: 'problem',
  problem,
})

/** Runs zlib and turns errors about the input into a problem. */
export function inflateWith(run: () => Uint8Array): Unpacked {
  try {
    return { kind: 'unpacked', bytes: run() }
  } catch (error) {
    // zlib has one error code for the limit and several for invalid data.
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') return problem('too-large')
    if (code?.startsWith('Z_')) return problem('damaged')
    throw error
  }
}

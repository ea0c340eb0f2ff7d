/** What unpacking comes to, and what zlib's errors mean. Pure. */

/** Why a report cannot be read. `dangerous`: it has what no report needs, such as a document type or encryption. */
export type ReportProblem = 'too-large' | 'damaged' | 'dangerous' | 'not-a-report'
export type Unpacked = { kind: 'unpacked'; bytes: Uint8Array } | { kind: 'problem'; problem: ReportProblem }

export const problem = (problem: ReportProblem): { kind: 'problem'; problem: ReportProblem } => ({
  kind: 'problem',
  problem,
})

/** Runs zlib; what it throws is about the bytes. */
export function inflateWith(run: () => Uint8Array): Unpacked {
  try {
    return { kind: 'unpacked', bytes: run() }
  } catch (error) {
    // zlib names its errors: the one for the limit, and those for bytes that are no such file.
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') return problem('too-large')
    if (code?.startsWith('Z_')) return problem('damaged')
    throw error
  }
}

import type { Output } from './output.ts'

/** `version`: of the program and of the Node that runs it. */
export function printVersion(output: Output, version: string): void {
  output.object({ object: 'version', version, node: process.version })
  output.text(`posthaste ${version} (Node ${process.version})`)
}

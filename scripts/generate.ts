import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { GENERATED_FILES } from './generated.ts'

for (const [path, render] of Object.entries(GENERATED_FILES)) {
  const whole = join(import.meta.dirname, '..', path)
  mkdirSync(dirname(whole), { recursive: true })
  writeFileSync(whole, await render())
  console.log(path)
}

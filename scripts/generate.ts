import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { renderExample, renderReference } from '../appliance/config/reference.ts'

/** Every generated file and what writes it. */
const files: Record<string, () => string> = {
  'config/posthaste.example.toml': renderExample,
  'docs/configuration.md': renderReference,
}

for (const [path, render] of Object.entries(files)) {
  const whole = join(import.meta.dirname, '..', path)
  mkdirSync(dirname(whole), { recursive: true })
  writeFileSync(whole, render())
  console.log(path)
}

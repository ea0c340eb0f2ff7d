import { renderCommands } from '../appliance/commands/reference.ts'
import { renderExample, renderReference } from '../appliance/config/reference.ts'
import { renderSandbox } from '../appliance/sandbox/reference.ts'

/** Every generated file and what writes it; `test/generated.test.ts` holds the committed ones against it. */
export const GENERATED: Record<string, () => string | Promise<string>> = {
  'config/posthaste.example.toml': renderExample,
  'docs/commands.md': renderCommands,
  'docs/configuration.md': renderReference,
  'docs/sandbox.md': renderSandbox,
}

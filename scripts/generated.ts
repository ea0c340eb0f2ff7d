import { renderBashCompletion } from './generators/completion-bash.ts'
import { renderFishCompletion } from './generators/completion-fish.ts'
import { renderZshCompletion } from './generators/completion-zsh.ts'
import { renderManPage } from './generators/man-page.ts'
import { renderCommands } from './generators/commands.ts'
import { renderExampleConfig, renderConfigReference } from './generators/configuration.ts'
import { renderPostgresSchema } from './generators/postgres-schema.ts'
import { renderSandboxDocs } from './generators/sandbox.ts'
import { renderOpenapi } from './generators/openapi.ts'

/** Every generated file and its renderer. `test/generated.test.ts` compares the committed files with the output. */
export const GENERATED_FILES: Record<string, () => string | Promise<string>> = {
  'appliance/api/openapi.json': renderOpenapi,
  'appliance/storage/migrations/postgres/0002_tables.sql': renderPostgresSchema,
  'completions/_posthaste': renderZshCompletion,
  'completions/posthaste.bash': renderBashCompletion,
  'completions/posthaste.fish': renderFishCompletion,
  'config/posthaste.example.toml': renderExampleConfig,
  'docs/commands.md': renderCommands,
  'docs/configuration.md': renderConfigReference,
  'docs/man/posthaste.1': renderManPage,
  'docs/sandbox.md': renderSandboxDocs,
}

import { renderBashCompletion } from '../appliance/commands/completion-bash.ts'
import { renderFishCompletion } from '../appliance/commands/completion-fish.ts'
import { renderZshCompletion } from '../appliance/commands/completion-zsh.ts'
import { renderManPage } from '../appliance/commands/man-page.ts'
import { renderCommands } from '../appliance/commands/reference.ts'
import { renderExample, renderReference } from '../appliance/config/reference.ts'
import { renderSandbox } from '../appliance/sandbox/reference.ts'

/** Every generated file and what writes it; `test/generated.test.ts` holds the committed ones against it. */
export const GENERATED: Record<string, () => string | Promise<string>> = {
  'completions/_posthaste': renderZshCompletion,
  'completions/posthaste.bash': renderBashCompletion,
  'completions/posthaste.fish': renderFishCompletion,
  'config/posthaste.example.toml': renderExample,
  'docs/commands.md': renderCommands,
  'docs/configuration.md': renderReference,
  'docs/man/posthaste.1': renderManPage,
  'docs/sandbox.md': renderSandbox,
}

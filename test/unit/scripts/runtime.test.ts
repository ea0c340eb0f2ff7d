import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const project = mkdtempSync(join(tmpdir(), 'posthaste-runtime-'))
afterAll(() => rmSync(project, { recursive: true }))

/** A fake npm that records its arguments and installs programs that do nothing. */
const NPM = `#!/bin/bash
printf '%s\\n' "$*" >>"$CALLS"
if [ "$1" = install ]; then
  package=\${!#}
  to="$3/node_modules/\${package%@*}/bin"
  mkdir -p "$to" && printf '#!/bin/bash\\n' >"$to/node" && chmod +x "$to/node"
else
  mkdir -p node_modules
fi
`

test('npm runs without notices, inside and outside the project', () => {
  const scripts = join(import.meta.dirname, '../../../scripts')
  mkdirSync(join(project, 'scripts'))
  mkdirSync(join(project, 'bin'))
  copyFileSync(join(scripts, 'runtime.sh'), join(project, 'scripts/runtime.sh'))
  writeFileSync(join(project, 'package-lock.json'), '{}')
  writeFileSync(join(project, 'bin/npm'), NPM)
  chmodSync(join(project, 'bin/npm'), 0o755)
  const calls = join(project, 'calls')
  const env = { PATH: `${join(project, 'bin')}:${process.env.PATH}`, CALLS: calls }
  const run = () =>
    execFileSync('bash', ['-c', 'source scripts/runtime.sh; prepare'], { cwd: project, env, stdio: 'pipe' })
  run()
  run()
  const quiet = '--no-update-notifier --no-fund --no-audit --loglevel=error'
  expect(readFileSync(calls, 'utf8').split('\n')).toEqual([
    expect.stringMatching(
      new RegExp(
        `^install --prefix \\S+/.runtime/install --no-save --no-package-lock --ignore-scripts ${quiet} node-linux-\\w+@[\\d.]+$`,
      ),
    ),
    `ci --ignore-scripts ${quiet}`,
    '',
  ])
})

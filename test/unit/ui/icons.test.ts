import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { iconTemplate } from '../../../ui/icons.ts'

const packaged = (name: string) =>
  readFileSync(
    fileURLToPath(new URL(`../../../node_modules/@lucide/svelte/dist/icons/${name}.svelte`, import.meta.url)),
    'utf8',
  )

test('creates a template from an icon with the shapes from the package', () => {
  const around = `viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"`
  expect(iconTemplate(packaged('circle-check'))).toBe(
    `<script>let { size = 24 } = $props()</script>
<svg xmlns="http://www.w3.org/2000/svg" width={size} height={size} ${around}><circle cx="12" cy="12" r="10" /><path d="m16 9-5.5 5.5L8 12" /></svg>`,
  )
})

test('an icon package in an unexpected format fails the build', () => {
  expect(() => iconTemplate('<script>const shapes = []</script>')).toThrow('another form than expected')
})

/** The icons, drawn by templates that the browser copies. */
import type { Plugin } from 'vite'

/** Where the package has a component for each icon. */
const ICON = /\/@lucide\/svelte\/dist\/icons\/[^/]+\.svelte$/

type Shape = [tag: string, attributes: Record<string, string>]

/**
 * A component that draws the same icon as the package's and takes nothing but `size`. The package's makes each attribute anew for every
 * icon in the page: with that, drawing its icons took longer than the rest of a row.
 * @param source the package's component
 */
export function iconTemplate(source: string): string {
  const data = /const iconData = (\{.*\});$/m.exec(source)?.[1]
  if (data === undefined) throw new Error('A component of @lucide/svelte has another form than expected.')
  const shapes = (JSON.parse(data) as { node: Shape[] }).node.map(([tag, attributes]) => {
    const written = Object.entries(attributes).map(([name, value]) => `${name}="${value}"`)
    return `<${tag} ${written.join(' ')} />`
  })
  return `<script>let { size = 24 } = $props()</script>
<svg xmlns="http://www.w3.org/2000/svg" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${shapes.join('')}</svg>`
}

/** Puts the templates in the place of the package's components. */
export const icons = (): Plugin => ({
  name: 'icons',
  enforce: 'pre',
  transform: {
    filter: { id: ICON },
    handler: (source) => ({ code: iconTemplate(source), map: null }),
  },
})

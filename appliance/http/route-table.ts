/** The methods of each path, to distinguish 404 (unknown path) from 405 (wrong method). */
export interface RouteTable {
  add(methods: string[], url: string): void
  /** Returns the methods of a path, sorted; empty for an unknown path. */
  methods(url: string): string[]
}

export function createRouteTable(): RouteTable {
  const known = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  return {
    add(methods, url) {
      const path = canonical(url)
      const route = known.get(path) ?? { pattern: patternOf(path), methods: new Set() }
      methods.forEach((method) => route.methods.add(method))
      known.set(path, route)
    },
    methods(url) {
      const path = canonical(url.split(/[?#]/, 1)[0]!)
      const found = [...known.values()].filter(({ pattern }) => pattern.test(path))
      return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort()
    },
  }
}

/** Removes duplicate slashes and a trailing one, as the router does. */
function canonical(path: string): string {
  const single = path.replaceAll(/\/{2,}/g, '/')
  return single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single
}

function patternOf(path: string): RegExp {
  const parts = path.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+'
    return part === '*' ? '.*' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('/')}$`)
}

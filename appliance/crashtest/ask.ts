/** Questions to the daemon's own API, as its clients ask them. */

/** Whom to ask, and with which key. */
export interface Asked {
  /** Origin of the API. */
  url: string
  apiKey: string
}

interface ListPage<T> {
  data: T[]
  has_more: boolean
}

const PAGE = 100

/** The JSON of an answer. @throws Error that says what was asked and what came, for anything but a 2xx */
export async function ask<T>(
  { url, apiKey }: Asked,
  path: string,
  method: 'GET' | 'POST' = 'GET',
): Promise<T> {
  const response = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${apiKey}` } })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return JSON.parse(text) as T
}

/** Everything that a list has, page by page. @throws Error as `ask` does */
export async function askAll<T extends { id: string }>(
  asked: Asked,
  path: string,
  query: Record<string, string> = {},
): Promise<T[]> {
  const all: T[] = []
  let after: string | undefined
  for (;;) {
    const search = new URLSearchParams({ ...query, limit: `${PAGE}`, ...(after !== undefined && { after }) })
    const page = await ask<ListPage<T>>(asked, `${path}?${search.toString()}`)
    all.push(...page.data)
    after = page.data.at(-1)?.id
    if (!page.has_more || after === undefined) return all
  }
}

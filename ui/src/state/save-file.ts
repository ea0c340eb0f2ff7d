/** Has the browser save what the page made. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** The same of a table (RFC 4180). */
export const saveCsv = (name: string, text: string): void =>
  saveFile(name, new Blob([text], { type: 'text/csv' }))

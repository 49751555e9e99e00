// Where the browser of these tests is: the variable KUBENODE_CHROMIUM, or one of the usual names on the path.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The moment of the fixtures. */
export const NOW = Date.parse('2026-01-31T12:00:00Z')

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']

export function browserPath(): string | undefined {
  const named = process.env['KUBENODE_CHROMIUM']
  if (named !== undefined && named !== '') return named
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

// `node build/make-outline.ts`: writes the outline of the commands, which the sources of the command line import and git does not keep. Made at `npm ci`, by `npm run gen`,
// and by the starters in `bin` where it is missing.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { releaseRoot } from '#lib/release-root.ts'

/** From the root. */
export const OUTLINE_FILE = 'src/cli/outline/outline.json'

const NOTHING = '{ "options": [], "commands": [], "kinds": [] }\n'

/** The commands import the outline that is made from them: with an empty one all of them are loaded. */
export async function makeOutline(): Promise<void> {
  const file = join(releaseRoot(), OUTLINE_FILE)
  if (!existsSync(file)) writeWhole(file, NOTHING)
  const { outlineText } = await import('./outlined.ts')
  const text = await outlineText()
  // Builds of these sources are known by the times of their files.
  if (readFileSync(file, 'utf8') !== text) writeWhole(file, text)
}

/** Several checks may start at once in a new checkout. */
function writeWhole(file: string, text: string): void {
  const own = `${file}.${process.pid}`
  writeFileSync(own, text)
  renameSync(own, file)
}

if (import.meta.main) await makeOutline()

// The kubenode version that a fleet repository depends on, from its package.json. Its editors and checks use that version; sync always uses its own.
import { isObject } from '#lib/json.ts'
import type { GitRepository } from '../git/repository.ts'

const FILE = 'package.json'
/** Real ones take a few kilobytes. */
const MAX_BYTES = 1024 * 1024
/** Digits, plus a prerelease suffix. */
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]{1,60})?$/

export async function dependencyAt(
  repository: GitRepository,
  commit: string,
  path: string,
): Promise<string | undefined> {
  const at = path === '.' ? FILE : `${path}/${FILE}`
  // A note is not worth a failure: ignore a link in its place, or a damaged object.
  const bytes = (await repository.readTree(commit, [at]).catch(() => undefined))?.get(at)
  return bytes === undefined || bytes.length > MAX_BYTES ? undefined : dependencyIn(Buffer.from(bytes).toString('utf8'))
}

/** Undefined if unknown: no dependency, a range, or a file with another name. */
export function dependencyIn(text: string): string | undefined {
  const manifest = parsed(text)
  if (!isObject(manifest)) return undefined
  const wanted = ['dependencies', 'devDependencies'].flatMap((field) => {
    const all = manifest[field]
    const one = isObject(all) && Object.hasOwn(all, 'kubenode') ? all['kubenode'] : undefined
    return typeof one === 'string' ? [one] : []
  })[0]
  const version = /(?:^|\/)kubenode-([^/]+)\.tgz$/.exec(wanted ?? '')?.[1] ?? wanted ?? ''
  return VERSION.test(version) ? version : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The repository's own programs report that.
    return undefined
  }
}

export const versionNote = (writtenFor: string, own: string): string =>
  `the repository depends on kubenode ${writtenFor}, and ${own} renders it`

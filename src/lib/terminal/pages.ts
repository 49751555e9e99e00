// The pages of the documentation that messages name. A checkout's reader knows `docs/…`; in a package they lie below node_modules, so the path from the current folder is shown.
import { existsSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { releaseRoot } from '../release-root.ts'
import type { Io } from './io.ts'

const PAGE = /(?<![\w./-])docs\/[\w/-]+(?:\.md)?/g

const isPackage = (root: string): boolean => root.split(sep).includes('node_modules')

export const withPages = (text: string, cwd: string, root = releaseRoot()): string =>
  isPackage(root)
    ? text.replaceAll(PAGE, (page) => (existsSync(join(root, page)) ? relative(cwd, join(root, page)) : page))
    : text

/** In errors and hints. Results are data: who prints a page there calls `withPages`. */
export const withPagesInHints = (io: Io): Io => ({ ...io, err: (text) => io.err(withPages(text, io.cwd)) })

// What a local fleet with systemd machines needs: the tree they boot from, and archives from Debian packages. Loads heavy parts only on demand.
import type { DebianTools } from '#providers/nspawn/debian.ts'
import { silentLogger } from '#lib/log.ts'
import { semverOfDebian } from './debian-version.ts'

export const debianTools: DebianTools = {
  versionOf: semverOfDebian,
  make: async (recipeName, deb, artifacts) => {
    const [{ makeComponent, withScratch }, { debSource }, { RECIPES }, { join }] = await Promise.all([
      import('./make-component.ts'),
      import('./deb-source.ts'),
      import('./recipes.ts'),
      import('node:path'),
    ])
    const recipe = RECIPES.find(({ name }) => name === recipeName)
    return withScratch(async (scratch) => {
      const made = await makeComponent(
        await debSource(deb),
        {
          choices: { recipe, takes: [], leaves: [], files: [], unit: undefined, exec: undefined },
          component: undefined,
          version: undefined,
          arch: undefined,
          requires: [],
          statements: join(scratch, 'statements'),
          artifacts,
          url: undefined,
          key: undefined,
          isDryRun: false,
        },
        scratch,
      )
      return made.packed
    })
  },
}

/** Builds it where the nspawn provider expects it. */
export async function buildTree(): Promise<void> {
  const [{ ensureTree }, { TREES }] = await Promise.all([
    import('#providers/nspawn/tree.ts'),
    import('#providers/nspawn/layout.ts'),
  ])
  await ensureTree({ cache: TREES, log: silentLogger })
}

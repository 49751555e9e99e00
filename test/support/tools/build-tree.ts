// `node test/support/tools/build-tree.ts`: builds the Debian tree that tests of systemd machines share, where root and debootstrap are there.
import { ensureTree } from '#providers/nspawn/tree.ts'
import { loggerTo } from '#lib/log.ts'

/** The place where those tests look for it. */
const CACHE = process.env['KUBENODE_TREES'] ?? '/var/lib/kubenode/trees'

const path = await ensureTree({ cache: CACHE, log: loggerTo((_, message) => process.stdout.write(`${message}\n`)) })
process.stdout.write(`${path}\n`)

// Stops the agents of process nodes and all their components, or powers systemd machines off. Their folders stay; the next start of the fleet starts them
// again.
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, writeSync } from 'node:fs'
import { systemClock } from '#lib/system-clock.ts'
import { powerOffAll } from '#providers/nspawn/power-off.ts'
import { endAll } from '#providers/process/end.ts'
import { nodeLayout } from '#providers/process/layout.ts'
import type { Driver } from './driver.ts'

export async function stopNodes(folders: readonly string[], driver: Driver): Promise<void> {
  if (driver === 'nspawn') return void (await Promise.all(folders.map((f) => powerOffAll(f, systemClock))))
  const nodes = folders
    .filter((f) => existsSync(f))
    .flatMap((f) =>
      readdirSync(f, { withFileTypes: true })
        .filter((e) => e.isDirectory())
        .map((e) => nodeLayout(f, e.name)),
    )
  await Promise.all(
    nodes.map(async (node) => {
      await endAll(node, undefined, systemClock)
      // Like a power cut: the next agent sees a new boot, so it does not count the components as crashed.
      renewBootId(node.bootId)
    }),
  )
}

/** Written in place: a full disk has no room for another file, and truncating this one first could lose its block. */
function renewBootId(path: string): void {
  if (!existsSync(path)) return
  const file = openSync(path, 'r+')
  try {
    writeSync(file, `${randomUUID()}\n`, 0)
  } finally {
    closeSync(file)
  }
}

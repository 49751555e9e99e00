// Bounds on what an agent writes into kinds that are not ours, whose schemas have none. Those of our kinds are in their definitions.

/** Of the status of its Node: conditions of all its detectors, and what a kubelet reports. */
const LISTS: Readonly<Record<string, number>> = {
  conditions: 64,
  addresses: 64,
  images: 200,
  volumesInUse: 500,
  volumesAttached: 500,
}
const MAPS: Readonly<Record<string, number>> = { capacity: 64, allocatable: 64 }
const MESSAGE_CHARACTERS = 8_192

const bounded = (field: string, empty: string, most: number): string =>
  `object.?status.?${field}.orValue(${empty}).size() <= ${most}`

/** Holds for every object; only a Node has these fields here. */
export const agentBounds = {
  expression: [
    `request.resource.resource != 'nodes'`,
    [
      ...Object.entries(LISTS).map(([field, most]) => bounded(field, '[]', most)),
      ...Object.entries(MAPS).map(([field, most]) => bounded(field, '{}', most)),
      `object.?status.?conditions.orValue([]).all(c, c.?message.orValue('').size() <= ${MESSAGE_CHARACTERS})`,
    ]
      .map((e) => `(${e})`)
      .join(' && '),
  ]
    .map((e) => `(${e})`)
    .join(' || '),
  message: `an agent reports at most ${Object.entries({ ...LISTS, ...MAPS })
    .map(([field, most]) => `${most} ${field}`)
    .join(', ')} of its Node, in messages of at most ${MESSAGE_CHARACTERS} characters`,
}

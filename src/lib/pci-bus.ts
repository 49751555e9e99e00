// The bus of a PCI address. A link of PCI Express has one card, so that all functions of the card share the bus; programs differ in how they write the rest.
const ADDRESS = /^(?:[0-9a-f]{4})?([0-9a-f]{4}):([0-9a-f]{2}):[0-9a-f]{2}(?:\.[0-7])?(?![0-9a-f])/i

/** "0000:3b" of a text that begins with an address, such as "00000000:3B:00.0" or "0000:3b:00". Undefined: it begins with none. */
export function pciBus(text: string): string | undefined {
  const [, domain, bus] = ADDRESS.exec(text) ?? []
  return domain === undefined || bus === undefined ? undefined : `${domain}:${bus}`.toLowerCase()
}

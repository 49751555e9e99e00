// The four commands of a rescue key, as they are sent to a host and as the host reads them. Pure.

/** `reboot` names the boot that it ends, so that no order is carried out twice. */
export type RescueCommand = 'state' | 'evidence' | 'restart-agent' | `reboot ${string}`

const BOOT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What a host answers is hostile input, and this part of it is sent back. */
export const isBootID = (text: string | undefined): text is string => text !== undefined && BOOT_ID.test(text)

export const rebootCommand = (bootID: string): RescueCommand => {
  if (!isBootID(bootID)) throw new TypeError('no boot ID')
  return `reboot ${bootID}`
}

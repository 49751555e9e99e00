// Parameters of an Alibaba Cloud host, from `Machine.spec.provider.params`.
import { choice, obj, optional, str } from '#api/build.ts'
import { diskListParam, diskParam, idListParam, idParam, priceParam, tagsParam, zoneMapParam } from '../cloud/params.ts'

export const alicloudParams = obj('Parameters of hosts at Alibaba Cloud.', {
  image: idParam('Image, such as debian_12_x64_20G_alibase_20260601.vhd or m-….'),
  type: optional(idParam('Instance type, such as ecs.g8i.xlarge, where an offering names none.')),
  zone: optional(idParam('Zone, such as cn-hangzhou-i, where an offering names none.')),
  vSwitches: zoneMapParam('vSwitch of each zone: ZONE=ID,ZONE=ID; one id alone is for any zone.'),
  securityGroups: idListParam('Security groups: ID,ID.'),
  systemDisk: optional(
    diskParam('Category and GiB of the system disk, such as cloud_essd:40; that of the image when left out.'),
  ),
  dataDisks: optional(
    diskListParam('Data disks, such as cloud_essd:100,cloud_essd:200; they are deleted with the host.'),
  ),
  role: optional(idParam('RAM role of the host.')),
  keyPair: optional(idParam('SSH key pair of the host.')),
  deploymentSet: optional(idParam('Deployment set, which spreads hosts over racks.')),
  publicMbps: optional(
    str('Outgoing bandwidth of a public address in Mbit/s; without it there is no public address.', {
      max: 3,
      pattern: '^[1-9][0-9]{0,2}$',
      expects: 'a number',
    }),
  ),
  metadata: optional(
    choice(
      'Required: processes on the host reach metadata with a session only. Optional: also without, for images that cannot.',
      ['Required', 'Optional'],
    ),
  ),
  spotPrice: optional(priceParam('The most that an hour of a spot host may cost; the market price when left out.')),
  tags: optional(tagsParam('More tags: NAME=VALUE,NAME=VALUE.')),
})

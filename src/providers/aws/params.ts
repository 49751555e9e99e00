// Parameters of an AWS host, from `Machine.spec.provider.params`.
import { choice, obj, optional, str } from '#api/build.ts'
import { diskListParam, diskParam, idListParam, idParam, priceParam, tagsParam, zoneMapParam } from '../cloud/params.ts'

export const awsParams = obj('Parameters of hosts at AWS.', {
  image: idParam('Image, such as ami-….'),
  type: optional(idParam('Instance type, such as m7i.xlarge, where an offering names none.')),
  zone: optional(idParam('Zone, such as eu-central-1a, where an offering names none.')),
  subnets: zoneMapParam('Subnet of each zone: ZONE=ID,ZONE=ID; one id alone is for any zone.'),
  securityGroups: idListParam('Security groups: ID,ID.'),
  systemDisk: optional(diskParam('Type and GiB of the system disk, such as gp3:40; that of the image when left out.')),
  rootDevice: optional(
    str('Name of the system disk in the image; /dev/xvda when left out.', {
      max: 32,
      pattern: '^/dev/[a-z][a-z0-9]{1,15}$',
      expects: 'the path of a device',
    }),
  ),
  dataDisks: optional(diskListParam('Data disks, such as gp3:100,gp3:200; they are deleted with the host.')),
  role: optional(idParam('Instance profile of the host.')),
  keyPair: optional(idParam('SSH key pair of the host.')),
  placementGroup: optional(idParam('Placement group, which spreads hosts or brings them together.')),
  metadata: optional(
    choice(
      'Required: processes on the host reach metadata with a session only. Optional: also without, for images that cannot.',
      ['Required', 'Optional'],
    ),
  ),
  spotPrice: optional(priceParam('The most that an hour of a spot host may cost; the price on demand when left out.')),
  tags: optional(tagsParam('More tags: NAME=VALUE,NAME=VALUE.')),
})

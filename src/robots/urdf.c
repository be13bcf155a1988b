/* URDF. */
#include "robots/robots.h"
void perp__read_urdf(perp__robot_reader *r, perp__xml_node *root)
{
    perp__robot_refuse(r, root, NULL, "URDF is not read yet");
}

"""What if they knew this: concrete statements about named people, and what follows from them."""
